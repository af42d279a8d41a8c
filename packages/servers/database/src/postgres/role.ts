/** What is asked of a new connection: the version, and the roles through which it could leave the database. */
export const roleQuery = `
  SELECT current_setting('server_version'), current_setting('server_version_num')::int, current_database(),
    session_user::text,
    (SELECT string_agg(r.rolname, ', ' ORDER BY r.rolname) FROM pg_roles r
      WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND (r.rolsuper OR r.rolreplication OR r.rolname IN
        ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program', 'pg_signal_backend',
         'pg_checkpoint', 'pg_create_subscription'))),
    (SELECT string_agg(DISTINCT p.proname, ', ' ORDER BY p.proname) FROM pg_proc p
      WHERE has_function_privilege(session_user, p.oid, 'EXECUTE') AND (
        (p.pronamespace = 'pg_catalog'::regnamespace AND p.proname IN
          ('pg_read_file', 'pg_read_binary_file', 'pg_ls_dir', 'pg_stat_file', 'pg_file_write', 'pg_file_rename',
           'pg_file_unlink', 'pg_file_sync', 'lo_import', 'lo_export', 'pg_reload_conf', 'pg_rotate_logfile',
           'pg_switch_wal', 'pg_promote', 'pg_create_restore_point'))
        OR EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
          WHERE d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
            AND d.refclassid = 'pg_extension'::regclass
            AND e.extname IN ('dblink', 'adminpack', 'pg_cron', 'pg_background', 'http', 'pg_net'))))`;

/** What a role may do that no transaction can hold back; undefined if there is nothing. */
export function dangerOf(user: string, roles: string | null, functions: string | null): string | undefined {
  if (roles !== null) return `the role ${user} has the rights of ${roles}`;
  if (functions !== null) return `the role ${user} may call ${functions}`;
  return undefined;
}
