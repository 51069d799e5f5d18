import fc from "fast-check";
import { expect, test } from "vitest";
import { LinkedList, type ListLinks } from "../../src/shared/linked-list.js";
import { forAny } from "../helpers/for-any.js";

interface Member extends ListLinks<Member> {
  readonly name: number;
}

const member = (name: number): Member => ({ name, before: undefined, after: undefined });

test("members are appended, prepended and removed as in an array", () => {
  const step = fc.record({ type: fc.constantFrom("append", "prepend", "remove"), place: fc.nat(20) });
  forAny(fc.array(step, { maxLength: 60 }), (steps) => {
    const list = new LinkedList<Member>();
    const model: Member[] = [];
    for (const [name, { type, place }] of steps.entries()) {
      const removed = model[place % model.length];
      if (type === "append") {
        const last = member(name);
        list.append(last);
        model.push(last);
      } else if (type === "prepend") {
        const first = member(name);
        list.prepend(first);
        model.unshift(first);
      } else if (removed) {
        list.remove(removed);
        model.splice(model.indexOf(removed), 1);
      }
      expect([...list].map((each) => each.name)).toEqual(model.map((each) => each.name));
      expect([list.length, list.first?.name, list.last?.name]).toEqual([
        model.length,
        model[0]?.name,
        model.at(-1)?.name,
      ]);
    }
  });
});

test("a removed member holds on to no other", () => {
  const list = new LinkedList<Member>();
  const [first, second, third] = [member(1), member(2), member(3)];
  for (const each of [first, second, third]) list.append(each);
  list.remove(second);
  list.remove(first);
  expect([first, second]).toEqual([member(1), member(2)]);
  expect([...list]).toEqual([third]);
});
