import express from "express";
import { affiliate, memoryOutbox, TrackingApiError } from "express-affiliate";
import { walk } from "./walk.cjs";

await walk({ express, affiliate, memoryOutbox, TrackingApiError });
