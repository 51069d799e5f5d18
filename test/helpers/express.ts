import express5 from "express";
import express4 from "express4";

/** Both majors that the package supports, for `describe.each`. */
export const eachExpress = [
  { name: "Express 4", express: express4 },
  { name: "Express 5", express: express5 },
] as const;
