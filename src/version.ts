import { version } from "../package.json" with { type: "json" };

/** This package's version. */
export const VERSION: string = version;
