/**
 * `npm run proof world -- gateways --short`
 *
 * The world around the service: a service that fails, real proxies and networks, database servers
 * that are killed. Runs the parts that are named, or all: each is a file in proof/world/. Prints
 * what each part measured beside its bound, and exits with 1 if a bound was missed.
 */
import { proveParts } from "./shared/part.js";

await proveParts("world");
