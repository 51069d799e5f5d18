import { getTracker } from "./get-tracker.js";

export const tracker = getTracker();
