import { createServer } from "node:http";
import { reqHandler } from "./dist/shop/server/server.mjs";

export const server = createServer(reqHandler).listen(process.env.PORT ?? 3000);
