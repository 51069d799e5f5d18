import { readFileSync } from "node:fs";

const NS_PER_MICRO = 1_000;
// From Node 22.19 and 23.9 on; the types of Node 20 do not know it.
const { threadCpuUsage } = process as { threadCpuUsage?: () => { user: number; system: number } };

/**
 * Processor time that the main thread has had so far, in microseconds. It leaves out the work of
 * other threads, and the time for which the thread was ready and had no core.
 *
 * @throws if neither Node nor the system tells: on Node 20 outside Linux.
 */
export function mainThreadMicros(): number {
  if (threadCpuUsage) {
    const { user, system } = threadCpuUsage.call(process);
    return user + system;
  }
  const [ran] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ");
  return Number(ran) / NS_PER_MICRO;
}
