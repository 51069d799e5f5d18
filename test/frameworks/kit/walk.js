await import(process.env.DATABASE_URL ? "./transactions.js" : "./json-walk.js");
