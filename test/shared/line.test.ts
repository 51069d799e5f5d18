import fc from "fast-check";
import { expect, test } from "vitest";
import { type InLine, Line } from "../../src/shared/line.js";

interface Member extends InLine<Member> {
  readonly name: number;
}

const member = (name: number): Member => ({ name, before: undefined, after: undefined });

test("members come, go to the front and leave like those of an array", () => {
  const step = fc.record({ type: fc.constantFrom("join", "rejoin", "leave"), place: fc.nat(20) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const line = new Line<Member>();
      const model: Member[] = [];
      for (const [name, { type, place }] of steps.entries()) {
        const leaving = model[place % model.length];
        if (type === "join") {
          const last = member(name);
          line.join(last);
          model.push(last);
        } else if (type === "rejoin") {
          const first = member(name);
          line.rejoin(first);
          model.unshift(first);
        } else if (leaving) {
          line.leave(leaving);
          model.splice(model.indexOf(leaving), 1);
        }
        expect([...line].map((each) => each.name)).toEqual(model.map((each) => each.name));
        expect([line.length, line.first?.name, line.last?.name]).toEqual([
          model.length,
          model[0]?.name,
          model.at(-1)?.name,
        ]);
      }
    }),
  );
});

test("a member that has left holds on to no other", () => {
  const line = new Line<Member>();
  const [first, second, third] = [member(1), member(2), member(3)];
  for (const each of [first, second, third]) line.join(each);
  line.leave(second);
  line.leave(first);
  expect([first, second]).toEqual([member(1), member(2)]);
  expect(line.peek(2)).toEqual([third]);
});
