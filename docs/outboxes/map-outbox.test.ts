import { describe, it } from "node:test";
import { testOutbox } from "express-affiliate/outbox";
import { MapStore, mapOutbox } from "./map-outbox.js";

let store: MapStore;
const fresh = () => {
  store = new MapStore();
  return store;
};

testOutbox(
  "mapOutbox",
  {
    create: () => mapOutbox(fresh()),
    createSmall: () => mapOutbox(fresh(), { maxEvents: 100, maxDeadLetters: 10 }),
    maxDeadLetters: 10,
    reopen: () => mapOutbox(store),
    cutOff() {
      store.reach = () => Promise.reject(new Error("mapOutbox: the store cannot be reached"));
    },
    restore() {
      store.reach = async () => {};
    },
  },
  { describe, it },
);
