import { version } from "../../package.json";

/** This package's version. */
export const VERSION: string = version;
