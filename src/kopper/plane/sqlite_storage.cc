#include "kopper/plane/sqlite_storage.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/rt/offload.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/wait_list.h"

namespace kopper::plane {
namespace {

constexpr rt::Duration kRetry = std::chrono::seconds(1);
constexpr int kVersion = 1;  // of the tables

constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS objects (place TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, revision "
    "INTEGER NOT NULL, "
    "json BLOB NOT NULL, PRIMARY KEY (place, namespace, name)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS last (one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL);"
    "INSERT OR IGNORE INTO last VALUES (1, 0);"
    "PRAGMA user_version = 1;";

// One connection, used by one thread at a time.
class Database {
 public:
  explicit Database(const std::filesystem::path& file) : file_(file.string()) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(file_.c_str(), &opened,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    db_.reset(opened);  // also of a failure: it knows why
    check(code);
    std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    // Exclusive: nobody else may have it open. Full: a commit is on the disk when it returns.
    run("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;");
    check_version();
    run(kTables);
    put_ =
        prepare("INSERT INTO objects VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET revision = ?4, json = ?5");
    erase_ = prepare("DELETE FROM objects WHERE place = ?1 AND namespace = ?2 AND name = ?3");
    last_ = prepare("UPDATE last SET revision = ?1");
  }

  Storage::Loaded load() {
    Storage::Loaded out;
    const Statement revision = prepare("SELECT revision FROM last");
    if (sqlite3_step(revision.get()) == SQLITE_ROW)
      out.revision = static_cast<std::uint64_t>(sqlite3_column_int64(revision.get(), 0));
    const Statement all = prepare("SELECT place, namespace, name, revision, json FROM objects");
    int step = 0;
    while ((step = sqlite3_step(all.get())) == SQLITE_ROW) {
      Write one;
      one.table = text(all.get(), 0);
      one.namespace_ = text(all.get(), 1);
      one.name = text(all.get(), 2);
      one.revision = static_cast<std::uint64_t>(sqlite3_column_int64(all.get(), 3));
      one.json = text(all.get(), 4);
      out.objects.push_back(std::move(one));
    }
    if (step != SQLITE_DONE) check(step);
    return out;
  }

  // All or none.
  void commit(std::span<const Write> changes) {
    try {
      write_all(changes);
    } catch (const Error&) {
      sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);  // fails when SQLite has done so already
      throw;
    }
  }

 private:
  void write_all(std::span<const Write> changes) {
    run("BEGIN");
    for (const Write& change : changes) {
      sqlite3_stmt* statement = change.json ? put_.get() : erase_.get();
      bind(statement, 1, change.table);
      bind(statement, 2, change.namespace_);
      bind(statement, 3, change.name);
      if (change.json) {
        sqlite3_bind_int64(statement, 4, static_cast<sqlite3_int64>(change.revision));
        bind(statement, 5, *change.json);
      }
      step(statement);
    }
    sqlite3_bind_int64(last_.get(), 1, static_cast<sqlite3_int64>(changes.back().revision));
    step(last_.get());
    run("COMMIT");
  }

  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  // 0: new, or of before versions were written, with the same tables.
  void check_version() {
    const Statement found = prepare("PRAGMA user_version");
    const int code = sqlite3_step(found.get());
    if (code != SQLITE_ROW) check(code);
    const int version = sqlite3_column_int(found.get(), 0);
    if (version >= 0 && version <= kVersion) return;
    throw Error(Code::Invalid, fmt::format("{}: written by a newer kopper (version {} of its tables, {} is known here)",
                                           file_, version, kVersion));
  }

  void check(int code) {
    if (code == SQLITE_OK || code == SQLITE_DONE) return;
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
      throw Error(Code::Unavailable, fmt::format("{}: another process has it open", file_));
    throw Error(Code::Internal, fmt::format("{}: {}", file_, db_ ? sqlite3_errmsg(db_.get()) : sqlite3_errstr(code)));
  }
  void run(const char* sql) { check(sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr)); }
  Statement prepare(const char* sql) {
    sqlite3_stmt* out = nullptr;
    check(sqlite3_prepare_v2(db_.get(), sql, -1, &out, nullptr));
    return Statement(out);
  }
  void step(sqlite3_stmt* statement) {
    const int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    check(code);
  }
  // The text outlives the step.
  static void bind(sqlite3_stmt* statement, int at, const std::string& value) {
    sqlite3_bind_text(statement, at, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }
  static std::string text(sqlite3_stmt* statement, int column) {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
    return {bytes != nullptr ? bytes : "", static_cast<std::size_t>(sqlite3_column_bytes(statement, column))};
  }

  const std::string file_;
  std::unique_ptr<sqlite3, Close> db_;
  Statement put_;
  Statement erase_;
  Statement last_;
};

std::filesystem::path prepared(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  if (error) throw Error(Code::Invalid, fmt::format("{}: {}", folder.string(), error.message()));
  return folder / "objects.db";
}

}  // namespace

struct SqliteStorage::Impl {
  explicit Impl(const std::filesystem::path& folder) : database(std::make_shared<Database>(prepared(folder))) {}

  // A batch that fails is tried again, with what came since: later changes must not become durable before it does.
  Task<> commit_all() {
    while (!waiting.empty()) {
      auto batch = std::make_shared<std::vector<Write>>(std::exchange(waiting, {}));
      const std::uint64_t last = batch->back().revision;
      const auto work = [db = database, batch] { db->commit(*batch); };
      const bool was_broken = broken.has_value();
      try {
        co_await rt::offload(disk, work);
        committed = last;
        broken.reset();
      } catch (const Error& error) {
        broken = error;
        std::ranges::move(waiting, std::back_inserter(*batch));
        waiting = std::move(*batch);
      }
      if (broken && !was_broken) log::error("objects cannot be kept", {{"error", broken->what()}});
      if (!broken && was_broken) log::info("objects can be kept again");
      done.wake_all();
      if (broken) co_await rt::sleep(kRetry);
    }
    busy = false;
  }

  std::shared_ptr<Database> database;
  std::vector<Write> waiting;
  std::uint64_t committed = 0;
  std::optional<Error> broken;  // why the last try failed
  bool busy = false;
  rt::WaitList done;
  rt::ThreadPool disk{1};
  rt::Scope tasks;
};

SqliteStorage::SqliteStorage(const std::filesystem::path& folder) : impl_(std::make_unique<Impl>(folder)) {}

SqliteStorage::~SqliteStorage() = default;

Task<Storage::Loaded> SqliteStorage::load() {
  Loaded out = impl_->database->load();
  impl_->committed = out.revision;
  co_return out;
}

void SqliteStorage::write(Write change) {
  impl_->waiting.push_back(std::move(change));
  if (std::exchange(impl_->busy, true)) return;
  impl_->tasks.spawn(impl_->commit_all());
}

Task<> SqliteStorage::durable(std::uint64_t revision) {
  while (impl_->committed < revision && !impl_->broken) co_await rt::Waiter(impl_->done);
  if (impl_->committed < revision) throw *impl_->broken;
}

}  // namespace kopper::plane
