using System;
using System.Collections;
using System.Collections.Generic;
using Readpast.Native;

namespace Readpast
{
    /// <summary>
    /// The settings that a queue is opened with, by key and value: <c>new QueueOptions(connection) { ["lease.ms"] =
    /// "30000" }</c>. The library knows which there are (the README lists them) and says what is wrong with one when it
    /// is used. Not for use by several threads while it is being changed.
    /// </summary>
    public sealed class QueueOptions : IEnumerable<KeyValuePair<string, string>>
    {
        private readonly List<KeyValuePair<string, string>> settings = new List<KeyValuePair<string, string>>();

        /// <summary>Settings without a connection string, which has to be set before they are used.</summary>
        public QueueOptions()
        {
        }

        /// <summary>Settings with a connection string.</summary>
        /// <param name="connection">
        /// An ODBC connection string, with the driver in it. Null, as an environment variable that is not set gives it,
        /// is refused when the options are used.
        /// </param>
        public QueueOptions(string connection)
        {
            this["connection"] = connection ?? string.Empty;
        }

        /// <summary>Whether the queue is spread over several databases; as in the library, empty is not set.</summary>
        internal bool AreOfAllPlaces
        {
            get
            {
                return string.IsNullOrEmpty(this["place"]) &&
                    settings.Exists(
                        setting => setting.Key.StartsWith("places.", StringComparison.Ordinal) &&
                            (setting.Key != "places.query" || setting.Value.Length > 0));
            }
        }

        /// <summary>A setting. Set again, it takes the last value; null unsets it.</summary>
        /// <param name="key">Its key, like <c>lease.ms</c>.</param>
        public string this[string key]
        {
            get
            {
                int place = Find(key);
                return place < 0 ? null : settings[place].Value;
            }

            set
            {
                int place = Find(key);
                if (place >= 0)
                {
                    settings.RemoveAt(place);
                }
                if (value != null)
                {
                    settings.Add(new KeyValuePair<string, string>(key, value));
                }
            }
        }

        /// <summary>Sets a setting; for collection initialisers.</summary>
        /// <param name="key">Its key.</param>
        /// <param name="value">Its value.</param>
        public void Add(string key, string value)
        {
            this[key] = value;
        }

        /// <inheritdoc/>
        public IEnumerator<KeyValuePair<string, string>> GetEnumerator()
        {
            return settings.GetEnumerator();
        }

        IEnumerator IEnumerable.GetEnumerator()
        {
            return GetEnumerator();
        }

        /// <summary>The same settings, whatever becomes of these.</summary>
        internal QueueOptions Copy()
        {
            var copy = new QueueOptions();
            copy.settings.AddRange(settings);
            return copy;
        }

        internal ConfigHandle ToConfig()
        {
            Library.Check();
            var config = new ConfigHandle(ConfigMethods.readpast_config_new());
            try
            {
                using (var use = config.Borrow())
                using (var texts = new Arena())
                {
                    foreach (var setting in settings)
                    {
                        IntPtr key = texts.Text(setting.Key, "key"), value = texts.Text(setting.Value, setting.Key);
                        QueueException.Check(
                            ConfigMethods.readpast_config_set(use.Handle, key, value, out Handle error), error);
                    }
                }
                return config;
            }
            catch
            {
                config.Dispose();
                throw;
            }
        }

        private int Find(string key)
        {
            if (key == null)
            {
                throw new ArgumentNullException(nameof(key));
            }
            return settings.FindIndex(setting => setting.Key == key);
        }
    }
}
