/**
 * A page for production: what waits, how the service is, and what was given up.
 *
 * @module express-affiliate/dashboard
 */
export { type Authorized, type DashboardOptions, dashboard } from "./dashboard.js";
