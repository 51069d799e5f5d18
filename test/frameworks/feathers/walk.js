import { walkWithJson } from "./json-walk.js";

walkWithJson();
