export default { serverExternalPackages: ["express-affiliate"] };
