export { default } from "@vendia/serverless-express";
