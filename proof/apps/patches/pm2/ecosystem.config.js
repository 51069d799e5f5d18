module.exports = {
  apps: [{ name: "shop", script: "bin/www", instances: 2, exec_mode: "cluster", kill_timeout: 20_000 }],
};
