const express = require("express");
const { affiliate, memoryOutbox, TrackingApiError } = require("express-affiliate");
const { walk } = require("./walk.cjs");

walk({ express, affiliate, memoryOutbox, TrackingApiError });
