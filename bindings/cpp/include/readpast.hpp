// readpast for C++17: work queues in ordinary SQL Server tables (and PostgreSQL).
//
// Header-only, over the C library: link libreadpast. This file is the table of contents; each of the others may be
// included by itself.
//
// Errors. Results that are to be expected are values: an empty batch, an outcome that was refused. Failures are thrown: a
// readpast::error (error.hpp) from the library or the server, std::out_of_range for an item or a column that is not
// there. Any call may throw std::bad_alloc.
//
// Handles. A config, queue, batch and renewal owns what its name says, can be moved and not copied, and frees it when it
// is destroyed. One that was moved from is empty: calls on it throw with status::invalid_handle, and it may be assigned to.
//
// Views. A std::string_view, bytes, value or item that a call returns lives as long as the batch that it was read from,
// also while that is moved. The library copies each text (text.hpp) that it gets.
//
// Threads. Const members may be called by any number of threads at once; claiming and settling are const.
#ifndef READPAST_HPP
#define READPAST_HPP

// The library, and what its calls come to.
#include <readpast/error.hpp>   // error, transient_error, outcome_unknown
#include <readpast/status.hpp>  // status
#include <readpast/text.hpp>    // text: how text is passed
#include <readpast/version.hpp> // version(), abi()

// To open a queue.
#include <readpast/config.hpp> // config: settings; install()
#include <readpast/list.hpp>   // list(), drop(): which queues there are, and the end of one
#include <readpast/queue.hpp>  // queue

// The values that go in and come out.
#include <readpast/answers.hpp>    // answers: what came of several items
#include <readpast/batch.hpp>      // batch: the items of one claim; column
#include <readpast/item.hpp>       // item, no_such_column
#include <readpast/new_item.hpp>   // new_item, receipt
#include <readpast/settlement.hpp> // settlement, action, outcome, state, lease
#include <readpast/stats.hpp>      // stats: the figures of a queue
#include <readpast/value.hpp>      // value, column_type, bytes

// To work on it.
#include <readpast/log.hpp>     // log_entry, log_level, settled
#include <readpast/renewal.hpp> // renewal: keeps leases while their items are worked on
#include <readpast/worker.hpp>  // worker, worker_figures

// The item as a worker's handler sees it, and as typed handlers do.
#include <readpast/handlers.hpp> // handlers
#include <readpast/job.hpp>      // job

// To watch it.
#include <readpast/metrics.hpp> // metrics(): what this process has done

#endif
