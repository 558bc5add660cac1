//! The service itself: it reports the state of a running command to the service manager.

use super::{CommandLineReader, Run, service_failure};
use crate::exit::Exit;
use crate::failure::{Result, usage};
use crate::output::{note, remark, remark_to};
use crate::windows::console::{self, EndSource};
use crate::windows::event_log;
use log::Level;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;
use windows_service::define_windows_service;
use windows_service::service::{
    ServiceControl, ServiceControlAccept, ServiceExitCode, ServiceState, ServiceStatus, ServiceType,
};
use windows_service::service_control_handler::{self, ServiceControlHandlerResult, ServiceStatusHandle};
use windows_service::service_dispatcher;

/// The arguments of the start; the manager's own call brings only the name.
static STARTED: OnceLock<(Run, CommandLineReader)> = OnceLock::new();

/// The interval of reports while it ends; the manager waits three times as long for the next.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

define_windows_service!(begun_by_manager, serve_manager);

/// Returns when the service has ended.
pub(super) fn run(args: Run, reader: CommandLineReader) -> Result<Exit> {
    let name = args.name.clone();
    STARTED.set((args, reader)).map_err(|_| usage("a process is one service"))?;
    service_dispatcher::start(&name, begun_by_manager).map_err(|error| {
        service_failure(&format!("only the service manager can start this: sc.exe start {name}"), &error)
    })?;
    Ok(Exit::Done)
}

fn serve_manager(_: Vec<OsString>) {
    let Some((args, reader)) = STARTED.get() else { return };
    remark_to(|level, text| {
        if let Some((args, _)) = STARTED.get() {
            event_log::write(&args.name, level, text);
        }
    });
    if let Err(error) = serve(args, *reader) {
        remark(Level::Error, &service_failure("the service manager refuses the service's status", &error).message());
    }
}

fn serve(args: &Run, reader: CommandLineReader) -> windows_service::Result<()> {
    let (asks, asked) = channel();
    let handle = service_control_handler::register(&args.name, move |control| match control {
        ServiceControl::Stop | ServiceControl::Preshutdown => {
            let _ = asks.send(());
            ServiceControlHandlerResult::NoError
        }
        ServiceControl::Interrogate => ServiceControlHandlerResult::NoError,
        _ => ServiceControlHandlerResult::NotImplemented,
    })?;
    console::leave();
    let manager = Manager { handle, is_asked: AtomicBool::new(false), has_ended: Mutex::new(false) };
    manager.set_status(ServiceState::Running, 0, 0)?;
    let (ends, ended): (Sender<()>, _) = channel();
    let result = thread::scope(|scope| {
        let manager = &manager;
        scope.spawn(move || end_when_asked(manager, &asked, &ended));
        let result = perform(args, reader);
        drop(ends);
        result
    });
    let status = match result {
        // An end on request is no failure, after which the manager would restart it.
        Ok(Exit::Done | Exit::Signal(_)) => 0,
        Ok(exit) => exit.status(),
        Err(failure) => {
            remark(Level::Error, &failure.message());
            failure.exit().status()
        }
    };
    // A service that was stopped has ended in order, whatever errors it met: an error would make the manager restart it.
    manager.end(if manager.is_asked.load(Ordering::Relaxed) { 0 } else { status.into() })
}

/// Passes the manager's request on, and reports that the service is about to end for as long as that takes.
fn end_when_asked(manager: &Manager, asked: &Receiver<()>, ended: &Receiver<()>) {
    let is_over = |wait| !matches!(ended.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
    while asked.try_recv().is_err() {
        if is_over(Duration::from_millis(100)) {
            return;
        }
    }
    manager.is_asked.store(true, Ordering::Relaxed);
    console::ask(EndSource::Break);
    let mut checkpoint = 1;
    loop {
        if let Err(error) = manager.set_status(ServiceState::StopPending, checkpoint, 0) {
            note(&service_failure("the service's end could not be reported to the service manager", &error).message());
        }
        checkpoint += 1;
        if is_over(SIGN_OF_LIFE) {
            return;
        }
    }
}

fn perform(args: &Run, reader: CommandLineReader) -> Result<Exit> {
    std::env::set_current_dir(&args.folder)
        .map_err(|error| usage(format!("the folder {} cannot be entered: {error}", args.folder.display())))?;
    (reader(&args.command)?.perform)()
}

/// The service manager's side.
struct Manager {
    handle: ServiceStatusHandle,
    is_asked: AtomicBool,
    /// No report follows the last one: the manager may have restarted the service.
    has_ended: Mutex<bool>,
}

impl Manager {
    fn set_status(&self, state: ServiceState, checkpoint: u32, status: u32) -> windows_service::Result<()> {
        let mut has_ended = self.has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        if *has_ended {
            return Ok(());
        }
        *has_ended = state == ServiceState::Stopped;
        let controls_accepted = match state {
            ServiceState::Running => ServiceControlAccept::STOP | ServiceControlAccept::PRESHUTDOWN,
            _ => ServiceControlAccept::empty(),
        };
        self.handle.set_service_status(ServiceStatus {
            service_type: ServiceType::OWN_PROCESS,
            current_state: state,
            controls_accepted,
            exit_code: match status {
                0 => ServiceExitCode::Win32(0),
                status => ServiceExitCode::ServiceSpecific(status),
            },
            checkpoint,
            wait_hint: if state == ServiceState::StopPending { SIGN_OF_LIFE * 3 } else { Duration::ZERO },
            process_id: None,
        })
    }

    fn end(&self, status: u32) -> windows_service::Result<()> {
        self.set_status(ServiceState::Stopped, 0, status)
    }
}
