// #region config
export default { serverExternalPackages: ["express-affiliate"] };
// #endregion
