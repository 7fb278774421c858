-- additive: yes
-- A key for the table `store`. Without one, the update of its row by `viewtally restore` fails if a publication contains all tables, as
-- for an upgrade by logical replication.
ALTER TABLE store ADD PRIMARY KEY (id);
