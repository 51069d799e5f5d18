export { default } from "@codegenie/serverless-express";
