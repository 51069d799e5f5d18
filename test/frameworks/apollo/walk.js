import "./graphql.js";
