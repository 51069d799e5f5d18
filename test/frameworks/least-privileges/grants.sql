grant usage on schema affiliate to shop;
grant select on affiliate.migrations to shop;
grant select, update on affiliate.clock to shop;
grant select, insert, update, delete on affiliate.events, affiliate.scheduled, affiliate.known_ids, affiliate.dead_letters, affiliate.circuits to shop;
