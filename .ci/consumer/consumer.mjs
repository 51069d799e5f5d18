import express from "express";
import { affiliate, memoryOutbox, TrackingApiError } from "express-affiliate";
import { dashboard } from "express-affiliate/dashboard";
import { walk } from "./walk.cjs";

await walk({ express, affiliate, dashboard, memoryOutbox, TrackingApiError });
