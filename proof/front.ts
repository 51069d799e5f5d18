/**
 * `npm run proof front -- browser --short`
 *
 * The way from a visitor's browser to the service, with the real programs: Chromium and shared
 * caches. Runs the parts that are named, or all: each is a file in proof/front/. Prints for each
 * scenario the clicks, sign-ups and payments at the service beside those that were expected. Exits
 * with 1 if one is missing, repeated or credited to another affiliate.
 */
import { proveParts } from "./shared/part.js";

await proveParts("front");
