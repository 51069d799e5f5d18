import { memoryOutbox } from "express-affiliate";
import { diskOutbox } from "express-affiliate/disk";
import { mysqlOutbox } from "express-affiliate/mysql";
import { postgresOutbox } from "express-affiliate/postgres";

// Their types have a name in declarations, although nothing here imports it.
export const memory = memoryOutbox();
export const disk = diskOutbox({ directory: "outbox" });
export const postgres = (pool: Parameters<typeof postgresOutbox>[0]["pool"]) => postgresOutbox({ pool });
export const mysql = (pool: Parameters<typeof mysqlOutbox>[0]["pool"]) => mysqlOutbox({ pool });
