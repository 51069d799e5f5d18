import { walkGraphql } from "./graphql.js";

walkGraphql();
