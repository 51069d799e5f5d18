import { answer, startService } from "../shared/service.js";

/** Refuses most of this share of requests, and cuts some off before or after it takes the event. */
export async function startFaultyService(failures: number) {
  const counts = { refused: 0, cutOff: 0 };
  const service = await startService((res, take) => {
    const luck = res.req.method === "POST" ? Math.random() : 1;
    if (luck < failures * 0.8) {
      counts.refused++;
      res.writeHead(503).end();
      return;
    }
    if (luck >= failures * 0.9) take();
    if (luck >= failures) return answer(res);
    counts.cutOff++;
    res.req.socket.destroy();
  });
  return { service, counts };
}
