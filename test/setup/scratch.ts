import { afterAll } from "vitest";
import { removeScratchDirectories } from "../helpers/scratch.js";

afterAll(removeScratchDirectories);
