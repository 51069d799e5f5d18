// Node strips its types, and runs it as it is.
import express from "express";
import {
  type Affiliate,
  type AffiliateOptions,
  affiliate,
  memoryOutbox,
  TrackingApiError,
} from "express-affiliate";
import { dashboard } from "express-affiliate/dashboard";
import { walk } from "./walk.cjs";

const typed = (options: AffiliateOptions): Affiliate => affiliate(options);

await walk({ express, affiliate: typed, dashboard, memoryOutbox, TrackingApiError });
