CREATE ROLE assistant LOGIN PASSWORD 'choose one' CONNECTION LIMIT 8;
GRANT USAGE ON SCHEMA public TO assistant;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO assistant;
ALTER ROLE assistant SET default_transaction_read_only = on;
ALTER ROLE assistant SET temp_file_limit = '1GB';
