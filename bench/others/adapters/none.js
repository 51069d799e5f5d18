/** The shop without tracking: what the costs are measured against. */
export default {
  name: "none",
  title: "no tracking",
  packages: [],
  loads: [],
  async start() {
    return { track() {}, async close() {} };
  },
};
