import "./transactions.js";
