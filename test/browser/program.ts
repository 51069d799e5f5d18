export const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** With which Chromium is started, by tests and by proofs. */
export const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-component-update",
  "--disable-sync",
];
