const { affiliate } = require("express-affiliate");
const { diskOutbox } = require("express-affiliate/disk");

exports.tracker = affiliate({
  baseUrl: process.env.TRACKING_URL,
  clientId: Number(process.env.TRACKING_CLIENT_ID),
  apiKey: process.env.TRACKING_API_KEY,
  outbox: diskOutbox({ directory: process.env.OUTBOX_DIRECTORY }),
});
