// Express 4 under another name; close enough to Express 5 in what the tests use of it.
declare module "express4" {
  import express from "express";
  export default express;
}
