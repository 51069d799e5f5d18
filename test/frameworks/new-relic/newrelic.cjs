exports.config = {
  app_name: ["shop"],
  license_key: "0".repeat(40),
  host: "localhost",
  port: process.env.COLLECTOR_PORT,
  certificates: [process.env.COLLECTOR_CERT],
  // It asks no cloud where it runs.
  utilization: {
    detect_aws: false,
    detect_azure: false,
    detect_azurefunction: false,
    detect_gcp: false,
    detect_pcf: false,
  },
  logging: { enabled: false },
};
