import { describeWithMariaDb } from "../../helpers/mysql.js";
import { testServerClocks } from "../../helpers/server-clocks.js";

describeWithMariaDb("a MariaDB server whose clock is set", testServerClocks);
