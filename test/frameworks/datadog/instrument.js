import tracer from "dd-trace";

tracer.init();
tracer.use("undici", { propagationBlocklist: [/\/api\/v1\/tracking\//] });

export { tracer };
