//! Adds and removes services at the service manager.

use super::{Install, service_failure};
use crate::exit::Exit;
use crate::failure::{Failure, Result, usage};
use crate::output::{Output, note};
use crate::windows::event_log;
use serde_json::json;
use std::ffi::OsString;
use std::time::{Duration, Instant};
use windows_service::service::{
    Service, ServiceAccess, ServiceAction, ServiceActionType, ServiceErrorControl, ServiceFailureActions,
    ServiceFailureResetPeriod, ServiceInfo, ServiceStartType, ServiceState, ServiceType,
};
use windows_service::service_manager::{ServiceManager, ServiceManagerAccess};

/// The manager's errors for a missing service, and for an existing one.
const DOES_NOT_EXIST: i32 = 1060;
const EXISTS: i32 = 1073;

/// How long to wait for the end of a service before its removal.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long the machine waits for it when it goes down.
const AT_SHUTDOWN: Duration = Duration::from_secs(60);

pub(super) fn install(args: &Install, out: &Output) -> Result<Exit> {
    let name = &args.name;
    let is_name = (1..=256).contains(&name.encode_utf16().count()) && !name.contains(['/', '\\']);
    if !is_name || name.contains(char::is_control) {
        return Err(usage("the name of a service has 1 to 256 characters, and no slashes"));
    }
    let program = std::env::current_exe().and_then(std::path::absolute);
    let program = program.map_err(|error| usage(format!("this program's own path is not known: {error}")))?;
    let folder = std::env::current_dir().map_err(|error| usage(format!("there is no current folder: {error}")))?;
    let mut arguments: Vec<OsString> = ["service", "run", name, "--folder"].map(OsString::from).into();
    arguments.push(folder.into_os_string());
    arguments.push("--".into());
    arguments.extend(args.command.iter().cloned());
    let account = args.account.clone().unwrap_or_else(|| format!(r"NT SERVICE\{name}"));
    let info = ServiceInfo {
        name: name.into(),
        display_name: format!("readpast {name}").into(),
        service_type: ServiceType::OWN_PROCESS,
        start_type: if args.manual { ServiceStartType::OnDemand } else { ServiceStartType::AutoStart },
        error_control: ServiceErrorControl::Normal,
        executable_path: program,
        launch_arguments: arguments,
        dependencies: Vec::new(),
        account_name: (account != "LocalSystem").then(|| account.clone().into()),
        account_password: None,
    };
    let access = ServiceManagerAccess::CONNECT | ServiceManagerAccess::CREATE_SERVICE;
    let manager = ServiceManager::local_computer(None::<&str>, access);
    let manager =
        manager.map_err(|error| service_failure("the service manager (are you an administrator?)", &error))?;
    let service =
        manager.create_service(&info, ServiceAccess::CHANGE_CONFIG | ServiceAccess::START | ServiceAccess::DELETE);
    let service = service.map_err(|error| match code(&error) {
        Some(EXISTS) => usage(format!("there is a service {name} already; readpast service remove {name} removes it")),
        _ => service_failure(&format!("the service {name} cannot be made"), &error),
    })?;
    event_log::add(name).map_err(|error| {
        // Half a service would block the next attempt.
        let _ = service.delete();
        Failure::Partly(format!("the event log does not take {name} as a source: {error}"), Exit::Denied)
    })?;
    describe(&service, name).unwrap_or_else(|error| {
        note(&service_failure("warning: it will not restart when it fails", &error).message());
    });
    let text = || format!("installed {name}, as {account}; sc.exe start {name} starts it");
    out.answer(text, || json!({"installed": name, "account": account}))?;
    Ok(Exit::Done)
}

/// Sets optional properties: a restart after failures, and time to end when the machine goes down.
fn describe(service: &Service, name: &str) -> windows_service::Result<()> {
    service.set_description(format!("A worker of the queue library readpast: {name}"))?;
    service.set_preshutdown_timeout(AT_SHUTDOWN)?;
    let restart =
        |seconds| ServiceAction { action_type: ServiceActionType::Restart, delay: Duration::from_secs(seconds) };
    service.update_failure_actions(ServiceFailureActions {
        reset_period: ServiceFailureResetPeriod::After(Duration::from_secs(3600)),
        reboot_msg: None,
        command: None,
        actions: Some(vec![restart(1), restart(10), restart(60)]),
    })?;
    // Our service ends in an orderly way with an error when the database stays away.
    service.set_failure_actions_on_non_crash_failures(true)
}

pub(super) fn remove(name: &str, out: &Output) -> Result<Exit> {
    let manager = ServiceManager::local_computer(None::<&str>, ServiceManagerAccess::CONNECT);
    let manager = manager.map_err(|error| service_failure("the service manager", &error))?;
    let access =
        ServiceAccess::DELETE | ServiceAccess::STOP | ServiceAccess::QUERY_STATUS | ServiceAccess::QUERY_CONFIG;
    let service = manager.open_service(name, access).map_err(|error| match code(&error) {
        Some(DOES_NOT_EXIST) => usage(format!("there is no service {name}")),
        _ => service_failure(&format!("the service {name} (are you an administrator?)"), &error),
    })?;
    // Only our own services are removed.
    let config = service.query_config().map_err(|error| service_failure("its configuration cannot be read", &error))?;
    if !config.executable_path.to_string_lossy().contains("service run ") {
        return Err(usage(format!(
            "{name} was not installed by readpast service install; sc.exe delete removes any service"
        )));
    }
    stop(&service, name)?;
    service.delete().map_err(|error| service_failure(&format!("{name} cannot be removed"), &error))?;
    event_log::remove(name);
    out.answer(|| format!("removed {name}"), || json!({"removed": name}))?;
    Ok(Exit::Done)
}

fn stop(service: &Service, name: &str) -> Result<()> {
    let state = || service.query_status().map(|status| status.current_state);
    let asked = |error| service_failure(&format!("{name} cannot be asked for its state"), &error);
    let deadline = Instant::now() + PATIENCE;
    let mut is_stop_sent = false;
    while state().map_err(asked)? != ServiceState::Stopped {
        // A service that begins takes no orders.
        is_stop_sent = is_stop_sent || service.stop().is_ok();
        if Instant::now() > deadline {
            let why =
                format!("{name} does not stop, and was not removed; if it received the stop, it claims no more items");
            return Err(Failure::Partly(why, Exit::Unavailable));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn code(error: &windows_service::Error) -> Option<i32> {
    match error {
        windows_service::Error::Winapi(error) => error.raw_os_error(),
        _ => None,
    }
}
