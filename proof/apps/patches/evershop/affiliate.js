import { tracker } from "../../../../../tracker.mjs";

const onClick = tracker.onClick();
export default (request, response, next) => onClick(request, response, next);
