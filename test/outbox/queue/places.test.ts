import { expect, test } from "vitest";
import { wordsOf } from "../../../src/outbox/mysql/sql.js";
import { createPlaces } from "../../../src/outbox/queue/places.js";
import { sample } from "../../contract/samples.js";

test("the visitors of thousands of events are asked for in statements of some hundred names each", async () => {
  const placesOf = createPlaces({ words: wordsOf("some_") });
  const lengths: number[] = [];
  const events = Array.from({ length: 3_000 }, () => sample("payment"));

  const places = await placesOf(
    {
      rows: async (_, names = []) => {
        lengths.push(names.length);
        return names.map((name) => ({ name, visitor: `of ${name}` })) as never[];
      },
      write: async () => 0,
    },
    events,
  );

  expect(Math.max(...lengths)).toBeLessThanOrEqual(500);
  expect(places.map(({ visitor }) => visitor)).toEqual(
    events.map(({ destination, data }) => `of ${destination} s${data.sessionId}`),
  );
});
