import "./json-walk.js";
