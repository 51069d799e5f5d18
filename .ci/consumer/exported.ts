import { diskOutbox } from "express-affiliate/disk";
import { postgresOutbox } from "express-affiliate/postgres";

// Their types have a name in declarations, although nothing here imports it.
export const disk = diskOutbox({ directory: "outbox" });
export const postgres = (pool: Parameters<typeof postgresOutbox>[0]["pool"]) => postgresOutbox({ pool });
