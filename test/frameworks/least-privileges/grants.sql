grant usage on schema affiliate to shop;
grant select on affiliate.migrations to shop;
grant select, insert, update, delete on affiliate.events, affiliate.queues to shop;
