import { createShop } from "./shop.js";

export const server = createShop().listen(process.env.PORT ?? 3000);
