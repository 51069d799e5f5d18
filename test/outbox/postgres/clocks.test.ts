import { describeWithPostgres } from "../../helpers/postgres.js";
import { testServerClocks } from "../../helpers/server-clocks.js";

describeWithPostgres("a PostgreSQL server whose clock is set", testServerClocks);
