const { tracker } = require("./tracker.js");

module.exports = [tracker, tracker.onClick()];
