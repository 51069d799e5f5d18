const express = require("express");
const { affiliate, memoryOutbox, TrackingApiError } = require("express-affiliate");
const { dashboard } = require("express-affiliate/dashboard");
const { walk } = require("./walk.cjs");

walk({ express, affiliate, dashboard, memoryOutbox, TrackingApiError });
